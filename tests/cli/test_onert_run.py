# SPDX-License-Identifier: Apache-2.0
"""onert_run: files in and out, shapes, what it prints, exit codes."""

import re

import numpy as np
import pytest

RULE = "=" * 35


def test_report(onert_run, dense):
    done = onert_run(dense, "-r", 3, "-w", 1, "--run_delay", 10)
    assert (done.returncode, done.stderr) == (0, "")
    ms = r"\d+\.\d{3} ms"
    assert re.fullmatch("\n".join([
        rf"Model Filename {re.escape(str(dense))}", RULE,
        rf"MODEL_LOAD   takes {ms}", rf"PREPARE      takes {ms}", rf"EXECUTE      takes {ms}",
        rf"- MEAN     :  {ms}", rf"- MAX      :  {ms}", rf"- MIN      :  {ms}",
        rf"- GEOMEAN  :  {ms}", RULE + "\n"]), done.stdout), done.stdout


def test_files(onert_run, two, tmp_path):
    """What is dumped as input can be loaded, and gives the same outputs."""
    one = onert_run(two, "--dump_input:raw", tmp_path / "x", "--dump:raw", tmp_path / "y")
    other = onert_run(two, "--load:raw", tmp_path / "x", "--dump:raw", tmp_path / "z")
    assert (one.returncode, other.returncode) == (0, 0)
    assert [(tmp_path / f"x.{i}").stat().st_size for i in (0, 1)] == [12, 8]
    assert [(tmp_path / f"y.{i}").stat().st_size for i in (0, 1)] == [8, 16]
    for i in (0, 1):
        assert (tmp_path / f"y.{i}").read_bytes() == (tmp_path / f"z.{i}").read_bytes()
    assert np.fromfile(tmp_path / "y.1", "<f4").std() > 0


def test_random_inputs_are_the_same_every_time(onert_run, dense, tmp_path):
    for name in "ab":
        assert onert_run(dense, "--dump_input:raw", tmp_path / name).returncode == 0
    assert (tmp_path / "a.0").read_bytes() == (tmp_path / "b.0").read_bytes()


def test_random_inputs_are_normal(onert_run, dense, tmp_path):
    done = onert_run(dense, "--shape_prepare", "[0, [1000, 3]]",
                     "--dump_input:raw", tmp_path / "x", "--dump:raw", tmp_path / "y")
    assert done.returncode == 0, done.stderr
    x = np.fromfile(tmp_path / "x.0", "<f4")
    assert len(x) == 3000
    assert abs(x.mean()) < 0.2 and 1.8 < x.std() < 2.2
    assert (tmp_path / "y.0").stat().st_size == 1000 * 2 * 4


def test_memory_blocks(onert_run, dense):
    done = onert_run(dense, "--mem_poll")
    assert done.returncode == 0, done.stderr
    for name in ("RSS", "HWM", "PSS"):
        rows = "".join(rf"- {n:12} takes [1-9]\d* kb\n"
                       for n in ("MODEL_LOAD", "PREPARE", "EXECUTE", "PEAK"))
        assert re.search(f"^{name}\n{rows}{RULE}\n", done.stdout, re.M), done.stdout
    assert re.search(rf"^Used Peak Memory : [1-9]\d* kb\n{RULE}\n$", done.stdout, re.M)


def test_output_size_that_is_too_small(onert_run, dense):
    done = onert_run(dense, "--output_sizes", "[0, 4]")
    assert done.returncode == 255
    assert re.match(r"E: .*output.*8 bytes", done.stderr), done.stderr


def test_version(onert_run):
    done = onert_run("--version")
    assert (done.returncode, done.stdout) == (0, "onert_run (nnfw runtime: v1.31.0)\n")


@pytest.mark.parametrize("code,text,words", [
    (1, "Cannot find: no.circle", ["no.circle"]),
    (1, "--num_runs: 'x' is not a whole number", ["{model}", "-r", "x"]),
    (1, "--shape_prepare: '[0' is not", ["{model}", "--shape_prepare", "[0"]),
    (1, "--shape_prepare: there is no input 4", ["{model}", "--shape_prepare", "[4, [1]]"]),
    (1, "--shape_prepare: pairs", ["{model}", "--shape_prepare", "[0, [1,1,1,1,1,1,1]]"]),
    (1, "--shape_prepare: dimension 1 of input 0", ["{model}", "--shape_prepare", "[0, [1, -3]]"]),
    (1, "--output_sizes: there is no output 1", ["{model}", "--output_sizes", "[1, 4]"]),
    (255, "E: no/such.0: ", ["{model}", "--load:raw", "no/such"]),
    (255, "E: no/such.0: ", ["{model}", "--dump:raw", "no/such"]),
    (255, "E: ", ["{model}", "--shape_prepare", "[0, [1, 0]]"]),
])
def test_bad_command_lines(onert_run, dense, code, text, words):
    done = onert_run(*(w.format(model=dense) if w == "{model}" else w for w in words))
    assert done.returncode == code
    assert done.stderr.startswith(text), done.stderr
    assert done.stderr.count("\n") == 1


def test_input_file_of_the_wrong_size(onert_run, dense, tmp_path):
    (tmp_path / "x.0").write_bytes(b"1234")
    done = onert_run(dense, "--load:raw", tmp_path / "x")
    assert (done.returncode, done.stderr) == (
        255, f"E: {tmp_path / 'x'}.0: has 4 bytes, the tensor 12\n")
