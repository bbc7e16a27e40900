// SPDX-License-Identifier: Apache-2.0
// The order of tensors in onert's checkpoints. It is the order in which hash maps of the C++
// library of GNU systems are walked, after all the copies that onert's compiler makes of its
// operand map, so it is found by doing the same to a model of such a map.
#include "format/checkpoint.h"

#include "graph/shape.h"

#include <string.h>

// ---- the map ----

// An ordered set of integers: a list in walking order, and for each bucket (key mod n_buckets) the
// first of its members, which stand together.
typedef struct {
  int32_t key, before, after; // neighbours in the list, -1 at its ends
} Link;

typedef struct {
  Arena *arena;
  Link *links; // erased ones stay unused
  size_t n_links, cap_links;
  int32_t *bucket; // first link, or -1
  int32_t n_buckets;
  int32_t capacity; // grows when it would hold more keys than this
  int32_t size;
  int32_t front; // first link, or -1
  bool failed;   // memory ran short; all further calls do nothing
} OrderMap;

static const int32_t bucket_counts[] = {
  13,    29,    59,     127,    257,    541,     1109,    2357,    5087,     10273,
  20753, 42043, 85229, 172933, 351061, 712697, 1447153, 2938679, 5967347, 12117689,
};

static OrderMap map_new(Arena *arena)
{
  return (OrderMap){.arena = arena, .n_buckets = 1, .front = -1};
}

static int32_t map_find(const OrderMap *m, int32_t key)
{
  if (!m->bucket)
    return -1;
  int32_t b = key % m->n_buckets;
  for (int32_t i = m->bucket[b]; i >= 0 && m->links[i].key % m->n_buckets == b;
       i = m->links[i].after)
    if (m->links[i].key == key)
      return i;
  return -1;
}

// Before the first key of the same bucket, or at the front of the list.
static void place(OrderMap *m, int32_t link)
{
  Link *all = m->links, *l = &all[link];
  int32_t *first = &m->bucket[l->key % m->n_buckets];
  l->after = *first >= 0 ? *first : m->front;
  l->before = l->after >= 0 ? all[l->after].before : -1;
  if (l->after >= 0)
    all[l->after].before = link;
  if (l->before >= 0)
    all[l->before].after = link;
  else
    m->front = link;
  *first = link;
}

static void grow(OrderMap *m)
{
  size_t i = 0;
  while (i < COUNT_OF(bucket_counts) && bucket_counts[i] <= m->capacity)
    ++i;
  int32_t *bucket = NULL;
  if (i < COUNT_OF(bucket_counts))
    bucket = arena_array(m->arena, (size_t)bucket_counts[i], sizeof *bucket);
  if (!bucket) {
    m->failed = true;
    return;
  }
  m->n_buckets = m->capacity = bucket_counts[i];
  m->bucket = bucket;
  memset(bucket, -1, sizeof *bucket * (size_t)m->n_buckets);
  int32_t link = m->front;
  m->front = -1;
  while (link >= 0) {
    int32_t next = m->links[link].after;
    place(m, link);
    link = next;
  }
}

static void map_insert(OrderMap *m, int32_t key)
{
  if (m->failed || map_find(m, key) >= 0)
    return;
  if (m->size + 1 > m->capacity)
    grow(m);
  Link *links = arena_reserve(m->arena, m->links, m->n_links, &m->cap_links, sizeof *links);
  if (m->failed || !links) {
    m->failed = true;
    return;
  }
  m->links = links;
  links[m->n_links] = (Link){.key = key};
  place(m, (int32_t)m->n_links++);
  m->size++;
}

static void map_erase(OrderMap *m, int32_t key)
{
  int32_t i = map_find(m, key);
  if (i < 0)
    return;
  Link *all = m->links, *l = &all[i];
  int32_t *first = &m->bucket[key % m->n_buckets];
  if (*first == i) {
    bool more = l->after >= 0 && all[l->after].key % m->n_buckets == key % m->n_buckets;
    *first = more ? l->after : -1;
  }
  if (l->before >= 0)
    all[l->before].after = l->after;
  else
    m->front = l->after;
  if (l->after >= 0)
    all[l->after].before = l->before;
  m->size--;
}

static OrderMap map_copy(const OrderMap *m)
{
  OrderMap copy = map_new(m->arena);
  copy.failed = m->failed;
  for (int32_t i = m->front; i >= 0; i = m->links[i].after)
    map_insert(&copy, m->links[i].key);
  return copy;
}

#define EACH(link, map) int32_t link = (map)->front; link >= 0; link = (map)->links[link].after

// ---- the order ----

typedef struct {
  int32_t tensor, owner; // a copy of a constant for one operator
} Copied;

typedef struct {
  const Graph *g;
  Arena *arena;
  OrderMap operands, operators;
  OrderMap *uses; // [n_tensors] operators that use a constant
  bool *used;     // [n_tensors] by some operator
  bool *output;   // [n_tensors] of the graph
  Copied *copies;
  size_t n_copies, cap_copies;
  int32_t first_added, first_copy, next; // operand numbers: added ones begin behind the tensors
} Order;

static bool is_constant(const Graph *g, int32_t t)
{
  return g->tensors[t].kind == TK_CONST || g->tensors[t].kind == TK_PARAM;
}

static void collect(Order *o, bool *reached)
{
  const Graph *g = o->g;
  for (size_t i = 0; i < g->n_nodes; ++i) {
    const Node *n = &g->nodes[i];
    map_insert(&o->operators, (int32_t)i);
    for (int k = 0; k < n->n_in; ++k) {
      if (n->in[k] < 0)
        continue;
      reached[n->in[k]] = o->used[n->in[k]] = true;
      if (is_constant(g, n->in[k])) {
        map_insert(&o->uses[n->in[k]], (int32_t)i);
        o->operands.failed |= o->uses[n->in[k]].failed;
      }
    }
    for (int k = 0; k < n->n_out; ++k)
      reached[n->out[k]] = true;
  }
  for (int i = 0; i < g->n_inputs; ++i)
    reached[g->inputs[i]] = true;
  for (int i = 0; i < g->n_outputs; ++i)
    reached[g->outputs[i]] = o->output[g->outputs[i]] = true;
  for (int32_t t = 0; t < (int32_t)g->n_tensors; ++t)
    map_insert(&o->operands, t);
  for (int32_t t = 0; t < (int32_t)g->n_tensors; ++t)
    if (!reached[t])
      map_erase(&o->operands, t);
}

// A label, a loss tensor and a loss operator for each output.
static void add_losses(Order *o)
{
  o->operands = map_copy(&o->operands);
  o->operators = map_copy(&o->operators);
  o->first_added = o->next = (int32_t)o->g->n_tensors;
  for (int i = 0; i < o->g->n_outputs; ++i) {
    map_insert(&o->operands, o->next++);
    map_insert(&o->operands, o->next++);
    map_insert(&o->operators, (int32_t)o->g->n_nodes + i);
  }
  o->operands = map_copy(&o->operands);
  o->operators = map_copy(&o->operators);
  o->first_copy = o->next;
}

static bool is_label(const Order *o, int32_t operand)
{
  return operand >= o->first_added && operand < o->first_copy &&
         (operand - o->first_added) % 2 == 0;
}

// All users of a constant but one get copies of it: the one that comes first in the map of
// operators keeps it.
static void copy_shared(Order *o)
{
  const Graph *g = o->g;
  for (EACH(link, &o->operators)) {
    int32_t op = o->operators.links[link].key;
    if (op >= (int32_t)g->n_nodes)
      continue;
    const Node *n = &g->nodes[op];
    for (int k = 0; k < n->n_in; ++k) {
      if (n->in[k] < 0 || !is_constant(g, n->in[k]))
        continue;
      OrderMap *uses = &o->uses[n->in[k]];
      if (uses->size < 2)
        continue;
      for (EACH(use, uses)) {
        int32_t user = uses->links[use].key;
        if (user == op)
          continue;
        Copied *all = arena_reserve(o->arena, o->copies, o->n_copies, &o->cap_copies, sizeof *all);
        if (!all) {
          o->operands.failed = true;
          return;
        }
        o->copies = all;
        all[o->n_copies++] = (Copied){n->in[k], g->nodes[user].model_op};
        map_insert(&o->operands, o->next++);
      }
      *uses = map_new(o->arena);
    }
  }
}

// Graph inputs, labels and graph outputs get partners, which hold what the caller's buffers have.
// Returns the map of the operands that training owns: all but inputs, labels and the outputs'
// partners.
static OrderMap add_partners(Order *o)
{
  const Graph *g = o->g;
  int32_t n = o->operands.size, count = 0;
  int32_t *partners = arena_array(o->arena, (size_t)n + 1, sizeof *partners);
  bool *outside = arena_array(o->arena, (size_t)o->next + (size_t)n, sizeof *outside);
  if (!partners || !outside) {
    o->operands.failed = true;
    return o->operands;
  }
  for (int i = 0; i < g->n_inputs; ++i)
    outside[g->inputs[i]] = true;
  for (EACH(link, &o->operands)) {
    int32_t k = o->operands.links[link].key;
    bool tensor = k < o->first_added;
    bool output = tensor && o->output[k];
    bool input = tensor && outside[k] && o->used[k];
    if (is_label(o, k))
      outside[k] = true;
    if (output || input || is_label(o, k)) {
      outside[o->next] = output;
      partners[count++] = o->next++;
    }
  }
  for (int32_t i = 0; i < count; ++i)
    map_insert(&o->operands, partners[i]);
  OrderMap owned = map_new(o->arena);
  owned.failed = o->operands.failed;
  for (EACH(link, &o->operands))
    if (!outside[o->operands.links[link].key])
      map_insert(&owned, o->operands.links[link].key);
  return map_copy(&owned);
}

static Status find_order(Order *o, CheckpointEntry **entries, size_t *n, Arena *result)
{
  const Graph *g = o->g;
  bool *reached = arena_array(o->arena, g->n_tensors, sizeof *reached);
  o->used = arena_array(o->arena, g->n_tensors, sizeof *o->used);
  o->output = arena_array(o->arena, g->n_tensors, sizeof *o->output);
  o->uses = arena_array(o->arena, g->n_tensors, sizeof *o->uses);
  if (!reached || !o->used || !o->output || !o->uses)
    return ST_OOM;
  for (size_t i = 0; i < g->n_tensors; ++i)
    o->uses[i] = map_new(o->arena);
  o->operands = o->operators = map_new(o->arena);
  collect(o, reached);
  add_losses(o);
  copy_shared(o);
  int32_t end_copies = o->next;
  OrderMap owned = add_partners(o);
  OrderMap order = map_new(o->arena);
  for (EACH(link, &owned)) {
    int32_t k = owned.links[link].key;
    if (k >= o->first_added ? k >= o->first_copy && k < end_copies : is_constant(g, k))
      map_insert(&order, k);
  }
  if (owned.failed || order.failed || o->operators.failed)
    return ST_OOM;
  CheckpointEntry *e = arena_array(result, (size_t)order.size, sizeof *e);
  if (!e)
    return ST_OOM;
  *entries = e;
  *n = (size_t)order.size;
  for (EACH(link, &order)) {
    int32_t k = order.links[link].key;
    Copied c = {k, -1};
    if (k >= o->first_copy)
      c = o->copies[k - o->first_copy];
    const Tensor *t = &g->tensors[c.tensor];
    e->tensor = c.tensor;
    e->owner = c.owner;
    e->bytes = (size_t)shape_numel(&t->shape) * dtype_bytes(t->dtype);
    ++e;
  }
  return ST_OK;
}

Status checkpoint_entries(const Graph *model, Arena *arena, CheckpointEntry **entries, size_t *n,
                          Diag *d)
{
  Arena scratch = {0};
  Order o = {.g = model, .arena = &scratch};
  Status s = find_order(&o, entries, n, arena);
  arena_drop(&scratch);
  return s == ST_OK ? ST_OK : diag_oom(d);
}
