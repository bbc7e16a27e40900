# SPDX-License-Identifier: Apache-2.0
"""Packs recorded data into the archives that the tests read.

    python tests/data/pack.py FOLDER_WITH_RECORDED_DATA

The folder holds golden/train (training runs of onert 0.1.0) and models (exported models with
outputs and gradients of the frameworks they come from) and conformance (calls of the C API recorded
from onert 0.1.0). Archives come out the same from the same files.
"""

import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).parent
MODELS = [
    "d_ln", "d_mlp", "f1_autoencoder", "f1_dscnn", "f1_embedding", "f1_lstm_unrolled",
    "f1_upsample_nearest", "f_autoencoder", "f_batchnorm_mlp", "f_dilated", "f_dscnn",
    "f_effnet_se", "f_embedding", "f_gru_unrolled", "f_layernorm_mlp", "f_linreg",
    "f_lstm_unrolled", "f_mnist_cnn", "f_mnist_dense", "f_mobilenetv3ish", "f_multi_io",
    "f_regression", "f_resnet", "f_transformer", "f_unet", "f_upsample_nearest", "p_div",
    "p_mean_neg", "p_mul_const_same", "p_relu6_pad_avg", "p_softmax_rank3", "p_square_mul",
    "p_sub_self", "q_mnist_cnn_dynrange", "q_mnist_cnn_fp16", "q_mnist_cnn_int8", "t_acts",
    "t_ae_conv", "t_ae_conv_k3", "t_ae_dense", "t_batchnorm1d_mlp", "t_bigru_concat",
    "t_conv1d_mean", "t_conv1d_pool", "t_conv_dilated", "t_dqn", "t_gpt_tied", "t_gpt_tiny",
    "t_grouped_conv", "t_groupnorm", "t_layernorm_mlp", "t_linreg", "t_llama_tiny",
    "t_lstm_cell_unrolled", "t_mnist_cnn", "t_mobilenetv2_tiny", "t_mobilenetv3_hswish",
    "t_nn_gru", "t_nn_lstm", "t_nn_lstm_seq", "t_nn_rnn", "t_prelu", "t_resnet_tiny",
    "t_samepad_conv", "t_shared_dense", "t_shuffle", "t_siamese", "t_stack_split",
    "t_tied_autoencoder", "t_transformer_encoder_slow", "t_two_inputs", "t_two_outputs",
    "t_unet_bilinear", "t_unet_bilinear_align", "t_unet_nearest", "t_upsample_nearest",
    "t_vit_tiny",
]


def pack(archive: Path, root: Path, files: list[Path]) -> None:
    def anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.mtime = info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mode = 0o644
        return info

    with tarfile.open(archive, "w:xz", format=tarfile.USTAR_FORMAT) as tar:
        for file in sorted(files):
            tar.add(file, str(file.relative_to(root)), filter=anonymous)
    print(archive, archive.stat().st_size)


def main(folder: Path) -> None:
    golden = folder / "golden" / "train"
    files = [p for p in golden.rglob("*") if p.is_file() and "tools" not in p.parts]
    pack(HERE / "golden.tar.xz", golden, files)
    models = folder / "models"
    files = [p for name in MODELS for p in models.glob(f"{name}.*")]
    pack(HERE / "models.tar.xz", models, files)
    calls = folder / "conformance"
    files = list(calls.glob("traces/*.jsonl"))
    files += [p for p in calls.glob("packages/**/*") if p.is_file() and p.suffix != ".h5"]
    pack(HERE / "conformance.tar.xz", calls, files)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
