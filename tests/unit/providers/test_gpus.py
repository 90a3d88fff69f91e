"""Market spellings: each means exactly one card or none. Tables are those of the providers' own lists."""

import csv
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.errors import UnknownGpu
from providers.gpus import GPUS, find_gpu, nominal_memory_gb, select_gpus

# spelling, memory as the market states it (GB; MiB from 1000 on), the card, and its form where that is not the card's own
MARKETS = {
    "lambda": [
        ("A10 (24 GB PCIe)", None, "A10"),
        ("A100 (40 GB PCIe)", None, "A100-PCIe-40GB"),
        ("A100 (40 GB SXM4)", None, "A100-SXM4-40GB"),
        ("A100 (80 GB SXM4)", None, "A100-SXM4-80GB"),
        ("A6000 (48 GB)", None, "RTX A6000"),
        ("B200 (180 GB SXM6)", None, "B200"),
        ("GH200 (96 GB)", None, "GH200-96GB"),
        ("H100 (80 GB PCIe)", None, "H100-PCIe"),
        ("H100 (80 GB SXM5)", None, "H100-SXM"),
        ("8x H100 (80 GB SXM5)", None, "H100-SXM"),
        ("RTX 6000 (24 GB)", None, "Quadro RTX 6000"),
        ("Tesla V100 (16 GB)", None, "V100-PCIe-16GB", "unknown"),
    ],
    "runpod": [
        ("NVIDIA H100 80GB HBM3", 80, "H100-SXM"),
        ("NVIDIA H100 PCIe", 80, "H100-PCIe"),
        ("NVIDIA H100 NVL", 94, "H100-NVL"),
        ("NVIDIA H200", 141, "H200-SXM"),
        ("NVIDIA H200 NVL", 143, "H200-NVL"),
        ("NVIDIA B200", 180, "B200"),
        ("NVIDIA B300 SXM6 AC", 288, "B300"),
        ("NVIDIA A100 80GB PCIe", 80, "A100-PCIe-80GB"),
        ("NVIDIA A100-SXM4-80GB", 80, "A100-SXM4-80GB"),
        ("NVIDIA A30", 24, "A30"),
        ("NVIDIA A40", 48, "A40"),
        ("NVIDIA L4", 24, "L4"),
        ("NVIDIA L40", 48, "L40"),
        ("NVIDIA L40S", 48, "L40S"),
        ("NVIDIA GeForce RTX 3070", 8, "RTX 3070"),
        ("NVIDIA GeForce RTX 3080", 10, "RTX 3080"),
        ("NVIDIA GeForce RTX 3080 Ti", 12, "RTX 3080 Ti"),
        ("NVIDIA GeForce RTX 3090", 24, "RTX 3090"),
        ("NVIDIA GeForce RTX 3090 Ti", 24, "RTX 3090 Ti"),
        ("NVIDIA GeForce RTX 4070 Ti", 12, "RTX 4070 Ti"),
        ("NVIDIA GeForce RTX 4080", 16, "RTX 4080"),
        ("NVIDIA GeForce RTX 4080 SUPER", 16, "RTX 4080 SUPER"),
        ("NVIDIA GeForce RTX 4090", 24, "RTX 4090"),
        ("NVIDIA GeForce RTX 5080", 16, "RTX 5080"),
        ("NVIDIA GeForce RTX 5090", 32, "RTX 5090"),
        ("NVIDIA RTX 2000 Ada Generation", 16, "RTX 2000 Ada"),
        ("NVIDIA RTX 4000 Ada Generation", 20, "RTX 4000 Ada"),
        ("NVIDIA RTX 4000 SFF Ada Generation", 20, "RTX 4000 SFF Ada"),
        ("NVIDIA RTX 5000 Ada Generation", 32, "RTX 5000 Ada"),
        ("NVIDIA RTX 6000 Ada Generation", 48, "RTX 6000 Ada"),
        ("NVIDIA RTX A2000", 6, "RTX A2000"),
        ("NVIDIA RTX A4000", 16, "RTX A4000"),
        ("NVIDIA RTX A4500", 20, "RTX A4500"),
        ("NVIDIA RTX A5000", 24, "RTX A5000"),
        ("NVIDIA RTX A6000", 48, "RTX A6000"),
        ("NVIDIA RTX PRO 4500 Blackwell", 32, "RTX PRO 4500 Blackwell"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 96, "RTX PRO 6000 Blackwell Server"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 96, "RTX PRO 6000 Blackwell"),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 96, "RTX PRO 6000 Blackwell Max-Q"),
        ("RTX PRO 6000 WK", 96, "RTX PRO 6000 Blackwell"),
        ("RTX PRO 6000 MaxQ", 96, "RTX PRO 6000 Blackwell Max-Q"),
        ("Tesla V100-PCIE-16GB", 16, "V100-PCIe-16GB"),
        ("Tesla V100-SXM2-16GB", 16, "V100-SXM2-16GB"),
        ("Tesla V100-SXM2-32GB", 32, "V100-SXM2-32GB"),
        ("V100 SXM2", 16, "V100-SXM2-16GB"),
        ("V100 SXM2 32GB", 32, "V100-SXM2-32GB"),
        ("AMD Instinct MI300X OAM", 192, "MI300X"),
        ("A100 SXM", 80, "A100-SXM4-80GB"),
        ("H100 SXM", 80, "H100-SXM"),
    ],
    "vast": [
        ("A10", 23028, "A10"),
        ("A10g", 23028, "A10G"),
        ("A16", 15356, "A16"),
        ("A30", 24576, "A30"),
        ("A40", 46068, "A40"),
        ("A100 PCIE", 40960, "A100-PCIe-40GB"),
        ("A100 PCIE", 81920, "A100-PCIe-80GB"),
        ("A100 SXM4", 40960, "A100-SXM4-40GB"),
        ("A100 SXM4", 81920, "A100-SXM4-80GB"),
        ("A100X", 81920, "A100X"),
        ("A800 PCIE", 81920, "A800-PCIe-80GB"),
        ("H100 PCIE", 81559, "H100-PCIe"),
        ("H100 SXM", 81559, "H100-SXM"),
        ("H100 NVL", 95830, "H100-NVL"),
        ("H200", 143771, "H200-SXM"),
        ("H200 NVL", 143771, "H200-NVL"),
        ("B200", 183359, "B200"),
        ("B300", 275040, "B300"),
        ("GH200 SXM", 98304, "GH200-96GB"),
        ("L4", 23034, "L4"),
        ("L40", 46068, "L40"),
        ("L40S", 46068, "L40S"),
        ("Tesla K80", 11441, "K80"),
        ("Tesla M40", 11448, "M40"),
        ("Tesla M40", 22945, "M40 24GB"),
        ("Tesla P4", 7611, "P4"),
        ("Tesla P40", 22919, "P40"),
        ("Tesla P100", 16280, "P100-PCIe-16GB", "unknown"),
        ("Tesla T4", 15360, "T4"),
        ("Tesla V100", 16160, "V100-PCIe-16GB", "unknown"),
        ("Tesla V100", 32510, "V100-SXM2-32GB"),
        ("RTX 3060", 12288, "RTX 3060"),
        ("RTX 3060", 8192, "RTX 3060 8GB"),
        ("RTX 3060 Ti", 8192, "RTX 3060 Ti"),
        ("RTX 3080", 12288, "RTX 3080 12GB"),
        ("RTX 4060", 8188, "RTX 4060"),
        ("RTX 4060 Ti", 8188, "RTX 4060 Ti 8GB"),
        ("RTX 4060 Ti", 16380, "RTX 4060 Ti 16GB"),
        ("RTX 4070S", 12282, "RTX 4070 SUPER"),
        ("RTX 4070S Ti", 16376, "RTX 4070 Ti SUPER"),
        ("RTX 4080S", 16376, "RTX 4080 SUPER"),
        ("RTX 4090", 24564, "RTX 4090"),
        ("RTX 4090", 49140, "RTX 4090 48GB"),
        ("RTX 4090D", 24564, "RTX 4090D"),
        ("RTX 5060", 8151, "RTX 5060"),
        ("RTX 5060 Ti", 16311, "RTX 5060 Ti 16GB"),
        ("RTX 5070 Ti", 16303, "RTX 5070 Ti"),
        ("RTX 5090", 32607, "RTX 5090"),
        ("Titan RTX", 24220, "TITAN RTX"),
        ("Titan V", 12066, "TITAN V"),
        ("Titan Xp", 12196, "TITAN Xp"),
        ("Q RTX 4000", 8192, "Quadro RTX 4000"),
        ("Q RTX 5000", 16384, "Quadro RTX 5000"),
        ("Q RTX 6000", 24576, "Quadro RTX 6000"),
        ("Q RTX 8000", 49152, "Quadro RTX 8000"),
        ("RTX A2000", 12282, "RTX A2000 12GB"),
        ("RTX 2000Ada", 16380, "RTX 2000 Ada"),
        ("RTX 4000Ada", 20475, "RTX 4000 Ada"),
        ("RTX 4500Ada", 24570, "RTX 4500 Ada"),
        ("RTX 5000Ada", 32760, "RTX 5000 Ada"),
        ("RTX 5880Ada", 49140, "RTX 5880 Ada"),
        ("RTX 6000Ada", 49140, "RTX 6000 Ada"),
        ("RTX PRO 4000", 24467, "RTX PRO 4000 Blackwell"),
        ("RTX PRO 4500", 32623, "RTX PRO 4500 Blackwell"),
        ("RTX PRO 5000", 48935, "RTX PRO 5000 Blackwell"),
        ("RTX PRO 6000", 97887, "RTX PRO 6000 Blackwell Server", "unknown"),
        ("RTX PRO 6000 S", 97887, "RTX PRO 6000 Blackwell Server"),
        ("RTX PRO 6000 WS", 97887, "RTX PRO 6000 Blackwell"),
        ("RTX PRO 6000 Max-Q", 97887, "RTX PRO 6000 Blackwell Max-Q"),
        ("InstinctMI50", 16368, "MI50"),
        ("InstinctMI100", 32752, "MI100"),
        ("InstinctMI210", 65520, "MI210"),
        ("InstinctMI250X", 65520, "MI250X-GCD"),
        ("RX 7900 XTX", 24560, "RX 7900 XTX"),
    ],
    "aws": [
        ("T4", 16384, "T4"),
        ("A10G", 22888, "A10G"),
        ("T4g", 16384, "T4G"),
        ("L4", 22888, "L4"),
        ("L40S", 45776, "L40S"),
        ("RTX PRO 4500", 32768, "RTX PRO 4500 Blackwell"),
        ("RTX PRO Server 6000", 98304, "RTX PRO 6000 Blackwell Server"),
        ("V100", 32768, "V100-SXM2-32GB"),
        ("A100", 40960, "A100-PCIe-40GB", "unknown"),
        ("H100", 81920, "H100-PCIe", "unknown"),
        ("H200", 144384, "H200-SXM"),
        ("B200", 183359, "B200"),
        ("B300", 275040, "B300"),
        ("Radeon Pro V520", 8192, "Radeon Pro V520"),
        ("M60", 8192, "M60"),
    ],
    "gcp": [
        ("nvidia-tesla-t4", None, "T4"),
        ("nvidia-tesla-v100", None, "V100-SXM2-16GB"),
        ("nvidia-tesla-p100", None, "P100-PCIe-16GB"),
        ("nvidia-tesla-p4", None, "P4"),
        ("nvidia-tesla-a100", None, "A100-SXM4-40GB"),
        ("nvidia-a100-80gb", None, "A100-SXM4-80GB"),
        ("nvidia-l4", None, "L4"),
        ("nvidia-h100-80gb", None, "H100-SXM"),
        ("nvidia-h100-mega-80gb", None, "H100-SXM"),
        ("nvidia-h200-141gb", None, "H200-SXM"),
        ("nvidia-b200", None, "B200"),
        ("nvidia-rtx-pro-6000", None, "RTX PRO 6000 Blackwell Server"),
        ("RTX 6000 96GB", None, "RTX PRO 6000 Blackwell Server"),
    ],
    "elsewhere": [
        ("RTX3090", None, "RTX 3090"),
        ("RTX_4090", None, "RTX 4090"),
        ("RTXA6000", None, "RTX A6000"),
        ("QRTX6000", None, "Quadro RTX 6000"),
        ("Quadro RTX 6000", None, "Quadro RTX 6000"),
        ("RTX6000-Ada", None, "RTX 6000 Ada"),
        ("TeslaT4", None, "T4"),
        ("A100-80GB", None, "A100-PCIe-80GB", "unknown"),
        ("A100-80GB-NVLINK", None, "A100-SXM4-80GB"),
        ("A100-80GB-SXM", None, "A100-SXM4-80GB"),
        ("H100_NVLINK_80GB", None, "H100-SXM"),
        ("GB200", 186, "GB200"),
        ("MI325X", 256, "MI325X"),
        ("MI355X", 288, "MI355X"),
        ("MI250X", 128, "MI250X"),
        ("Tesla T4", 16106.127360 / 1.048576, "T4"),  # 16106127360 bytes, as a notebook service reports it
    ],
}
CASES = [
    pytest.param(*case[:3], (*case, None)[3], id=f"{market}: {case[0]}") for market, cases in MARKETS.items() for case in cases
]


@pytest.mark.parametrize(("spelling", "memory", "name", "form"), CASES)
def test_a_market_spelling_means_one_card(spelling, memory, name, form):
    stated = {} if memory is None else {"memory_mib": memory} if memory > 1000 else {"memory_gb": memory}
    match = find_gpu(spelling, **stated)
    assert match.gpu.name == name
    assert match.form_factor == (form or GPUS[name].form_factor)


@pytest.mark.parametrize(
    ("spelling", "memory_mib", "form", "name"),
    [
        ("A100", 40960, "SXM4", "A100-SXM4-40GB"),
        ("H100", 81920, "SXM", "H100-SXM"),
        ("H100", 81920, "PCIe", "H100-PCIe"),
        ("V100", 16384, "SXM2", "V100-SXM2-16GB"),
        ("H200", 144384, "SXM5", "H200-SXM"),
        ("H200", 144384, "NVL", "H200-NVL"),
        ("H100", 81920, "unknown", "H100-PCIe"),
    ],
)
def test_a_form_factor_known_from_elsewhere_settles_it(spelling, memory_mib, form, name):
    assert find_gpu(spelling, memory_mib=memory_mib, form_factor=form).gpu.name == name


ALIKE = [
    "A10",
    "A10G",
    "A16",
    "L4",
    "L40",
    "L40S",
    "T4",
    "T4G",
    "P4",
    "P40",
    "RTX 4090",
    "RTX 4090D",
    "RTX 4080",
    "RTX 4080 SUPER",
]


@pytest.mark.parametrize("name", ALIKE)
def test_parts_with_like_names_never_merge(name):
    # case, blanks, hyphens and the words NVIDIA and Tesla do not matter; every letter and digit does
    for spelling in (name, name.lower(), f"NVIDIA {name}", f"nvidia-tesla-{name.replace(' ', '-')}", name.replace(" ", "_")):
        assert find_gpu(spelling).gpu.name == name
        assert [gpu.name for gpu in select_gpus(spelling)] == [name]


def test_h100_takes_three_forms_and_not_the_superchip():
    assert [(gpu.name, gpu.memory_gb) for gpu in select_gpus("H100")] == [("H100-PCIe", 80), ("H100-SXM", 80), ("H100-NVL", 94)]
    assert {gpu.family for gpu in select_gpus("GH200")} == {"GH200"}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("A100", ["A100-PCIe-40GB", "A100-PCIe-80GB", "A100-SXM4-40GB", "A100-SXM4-80GB"]),
        ("A100 80GB", ["A100-PCIe-80GB", "A100-SXM4-80GB"]),
        ("a100-80gb", ["A100-PCIe-80GB", "A100-SXM4-80GB"]),
        ("A100 40 GB", ["A100-PCIe-40GB", "A100-SXM4-40GB"]),
        ("A100 80GB SXM", ["A100-SXM4-80GB"]),
        ("NVIDIA A100-SXM4-80GB", ["A100-SXM4-80GB"]),
        ("A100 PCIe", ["A100-PCIe-40GB", "A100-PCIe-80GB"]),
        ("V100", ["V100-PCIe-16GB", "V100-SXM2-16GB", "V100-SXM2-32GB"]),
        ("H200", ["H200-SXM", "H200-NVL"]),
        ("RTX PRO 6000", ["RTX PRO 6000 Blackwell", "RTX PRO 6000 Blackwell Server", "RTX PRO 6000 Blackwell Max-Q"]),
        ("RTX 4090", ["RTX 4090"]),
        ("RTX 4060 Ti", ["RTX 4060 Ti 8GB", "RTX 4060 Ti 16GB"]),
        ("A6000", ["RTX A6000"]),
    ],
)
def test_a_filter_takes_a_family_or_one_full_name(query, names):
    assert [gpu.name for gpu in select_gpus(query)] == names


@pytest.mark.parametrize(
    ("spelling", "stated"),
    [
        ("RTX 4090 laptop", {}),
        ("A100-SXM4-80GB", {"memory_mib": 40960}),  # the name and the memory contradict each other
        ("H100 SXM", {"memory_gb": 94}),
        ("L4", {"memory_gb": 48}),
        ("A100", {}),  # 40 or 80 GB: not ours to say
        ("NVIDIA Tesla A100", {}),
        ("H100", {"memory_mib": 81559, "form_factor": "NVL"}),
        ("L40S", {"form_factor": "SXM5"}),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb", {}),
        ("NVIDIA", {}),
        ("unknown", {}),
        ("unspecified", {}),
        ("", {}),
        ("TPU v6e-8", {}),
        ("<script>alert(1)</script>", {}),
    ],
)
def test_what_fits_no_card_is_refused(spelling, stated):
    with pytest.raises(UnknownGpu) as caught:
        find_gpu(spelling, **stated)
    assert "<" not in caught.value.raw_name + str(caught.value)


@pytest.mark.parametrize(
    ("query", "nearest"), [("A10 G2", "A10G"), ("H1000", "H100-PCIe"), ("RTX 4091", "RTX 4090"), ("L40T", "L40")]
)
def test_an_unknown_filter_suggests_the_nearest_names(query, nearest):
    with pytest.raises(UnknownGpu) as caught:
        select_gpus(query)
    assert nearest in caught.value.allowed
    assert set(caught.value.allowed) <= set(GPUS)


def test_an_open_memory_names_the_variants():
    with pytest.raises(UnknownGpu, match="different memory") as caught:
        find_gpu("H100")
    assert caught.value.allowed == ("H100-PCIe", "H100-SXM", "H100-NVL")


@pytest.mark.parametrize(
    ("name", "memory_mib", "memory_gb"),
    [
        ("L4", 22888, 24),
        ("L40S", 45776, 48),
        ("H200-SXM", 144384, 141),
        ("T4", 15360, 16),
        ("RTX 4090", 24564, 24),
        ("B200", 183359, 180),
        ("B300", 275040, 288),
        ("L4", 2861, 3),  # an eighth of a card: 2861 x 2^20 / 10^9 = 3.0
        ("L4", 5722, 6),
        ("L4", 11444, 12),
    ],
)
def test_reported_mib_become_nominal_gb(name, memory_mib, memory_gb):
    assert nominal_memory_gb(GPUS[name], memory_mib) == memory_gb


@given(st.sampled_from(sorted(GPUS)), st.floats(0.935, 1.065))
def test_a_canonical_name_finds_itself_within_seven_percent_of_its_memory(name, share):
    gpu = GPUS[name]
    assert find_gpu(name).gpu is gpu
    assert find_gpu(name, memory_gb=gpu.memory_gb * share).gpu is gpu
    assert select_gpus(name) == (gpu,)


@given(st.text(max_size=40))
def test_any_text_is_a_card_or_a_refusal(text):
    try:
        found = (find_gpu(text).gpu.name,)
    except UnknownGpu as error:
        found = error.allowed
    assert set(found) <= set(GPUS)


def test_no_spelling_stands_for_two_cards():
    seen = {}
    for gpu in GPUS.values():
        for spelling in (gpu.name, *gpu.aliases):
            key = re.sub(r"[^a-z0-9]", "", spelling.casefold())
            assert seen.setdefault(key, gpu.name) == gpu.name


def test_figures_are_plausible():
    for gpu in GPUS.values():
        assert 0.85 * gpu.memory_gb / gpu.devices < gpu.usable_gib < gpu.memory_gb, gpu.name
        assert gpu.bandwidth_gb_per_s > 0 < gpu.fp32_tflops
        assert 2010 < gpu.release_year < 2027
        if gpu.bf16_tflops and gpu.vendor == "NVIDIA":
            assert gpu.bf16_tflops >= gpu.fp32_tflops * 1.9
            assert gpu.int8_tops is None or gpu.int8_tops >= gpu.bf16_tflops or "int8" in gpu.note or "Ultra" in gpu.architecture
        assert gpu.price_usd is None or gpu.price_low_usd <= gpu.price_usd <= gpu.price_high_usd
        assert gpu.note or gpu.price_basis or gpu.price_usd


def test_cards_without_bf16_say_so():
    assert all(GPUS[name].bf16_tflops is None for name in ("T4", "V100-SXM2-16GB", "P100-PCIe-16GB", "Quadro RTX 6000"))
    assert GPUS["A100-SXM4-80GB"].bf16_tflops == 312
    assert GPUS["H100-SXM"].memory_gb == 80
    assert GPUS["MI250X"].usable_gib == 63.98  # of one of its two devices


def test_figures_are_those_of_the_shared_table(shared_data):
    renamed = {"bandwidth_gb_s": "bandwidth_gb_per_s", "tdp_w": "tdp_watts", "nvlink_gb_s": "nvlink_gb_per_s"}
    with (shared_data / "gpus.csv").open() as table:
        for row in csv.DictReader(table):
            gpu = GPUS[row["name"]]
            for column in (
                "memory_gb",
                "bandwidth_gb_s",
                "fp32_tflops",
                "bf16_tflops",
                "fp8_tflops",
                "tdp_w",
                "nvlink_gb_s",
                "price_usd",
            ):
                ours = getattr(gpu, renamed.get(column, column))
                assert ours == (float(row[column]) if row[column] else None), (gpu.name, column)


def test_every_gpu_of_the_reference_prices_is_known(shared_data):
    with (shared_data / "reference-prices.csv").open() as table:
        for row in csv.DictReader(table):
            assert find_gpu(row["gpu"], memory_gb=float(row["gpu_memory_gb"])).gpu.name


def test_every_gpu_of_the_measured_runs_is_known(shared_data):
    for name in ("memory.csv", "throughput.csv"):
        with (shared_data / "measured" / name).open() as table:
            for gpu in {row["gpu"] for row in csv.DictReader(table)} - {"unspecified"}:
                assert find_gpu(gpu).gpu.name
