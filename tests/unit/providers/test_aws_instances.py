"""Machine facts: the shipped table against a full capture of DescribeInstanceTypes, and the corrections by family."""

import gzip
import json
from pathlib import Path

import moto.ec2
import pytest

from providers.aws.instances import FAMILIES, facts_from_api, read_instance_types, shipped_facts, with_gpu
from providers.base import Refused
from providers.gpus import GPUS
from providers.offer import Arch, Interconnect


def entry(name, *gpus, **more):
    return {
        "InstanceType": name,
        "VCpuInfo": {"DefaultVCpus": 16},
        "MemoryInfo": {"SizeInMiB": 65536},
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
        "GpuInfo": {"Gpus": list(gpus)},
        **more,
    }


def card(name, count, mib, **more):
    return {"Name": name, "Count": count, "MemoryInfo": {"SizeInMiB": mib}, **more}


@pytest.fixture(scope="module")
def captured():
    """The us-east-1 answer that the moto package carries: 1395 machine types."""
    packed = Path(moto.ec2.__file__).parent / "resources" / "instance_types.json.gz"
    return list(json.loads(gzip.decompress(packed.read_bytes())).values())


def test_the_shipped_table_is_what_the_service_says(captured):
    facts, rejected = read_instance_types(with_gpu(captured))
    assert rejected == []
    assert len(facts) == 65
    shipped = shipped_facts()
    assert {name: shipped[name] for name in facts} == facts
    assert {shipped[name].family for name in shipped.keys() - facts.keys()} == {"p2", "p3"}  # priced, no longer described


def test_every_machine_of_the_table_has_a_card_of_the_gpu_table():
    assert {facts.find_gpu().gpu.name for facts in shipped_facts().values()} <= GPUS.keys()
    assert {facts.family for facts in shipped_facts().values()} == FAMILIES.keys()


@pytest.mark.parametrize(
    ("instance_type", "gpu", "interconnect"),
    [
        ("p4d.24xlarge", "A100-SXM4-40GB", Interconnect.NVLINK),
        ("p4de.24xlarge", "A100-SXM4-80GB", Interconnect.NVLINK),
        ("p5.48xlarge", "H100-SXM", Interconnect.NVLINK),
        ("p5.4xlarge", "H100-SXM", Interconnect.NONE),
        ("p3.2xlarge", "V100-SXM2-16GB", Interconnect.NONE),
        ("p3.8xlarge", "V100-SXM2-16GB", Interconnect.NVLINK),
        ("g5.48xlarge", "A10G", Interconnect.NONE),
        ("g7e.48xlarge", "RTX PRO 6000 Blackwell Server", Interconnect.NONE),
    ],
)
def test_cards_and_links_by_family(instance_type, gpu, interconnect):
    facts = shipped_facts()[instance_type]
    assert (facts.find_gpu().gpu.name, facts.interconnect) == (gpu, interconnect)


def test_one_gpu_that_is_counted_as_none_is_settled_by_the_table():
    assert facts_from_api(entry("p5.4xlarge", card("H100", 0, 81920))).gpu_count == 1


@pytest.mark.parametrize(("share", "mib"), [(0.125, 2861), (0.25, 5722), (0.5, 11444)])
def test_a_share_of_a_card_is_found_by_the_memory_of_the_whole_card(share, mib):
    facts = facts_from_api(entry("g99f.large", card("L4", 0, mib, LogicalGpuCount=1, GpuPartitionSize=share)))
    assert facts.gpu_count == share
    assert facts.find_gpu().gpu.name == "L4"


def test_a_new_family_is_read_by_its_reported_name_and_its_link_is_unknown():
    facts = facts_from_api(entry("p9.48xlarge", card("H200", 8, 144384)))
    assert facts.find_gpu().gpu.name == "H200-SXM"
    assert facts.interconnect is Interconnect.UNKNOWN


def test_arm_is_told():
    arm = entry("g99g.xlarge", card("T4g", 1, 16384), ProcessorInfo={"SupportedArchitectures": ["arm64"]})
    assert facts_from_api(arm).arch is Arch.ARM64


@pytest.mark.parametrize(
    ("gpus", "reason"),
    [
        ([], "no_gpu"),
        ([card("L4", 1, 22888), card("T4", 1, 16384)], "malformed"),
        ([card("L4", 0, 22888)], "malformed"),
        ([card("L4", 0, 5722, LogicalGpuCount=2, GpuPartitionSize=0.25)], "malformed"),
    ],
    ids=["none", "two kinds", "no count", "two shares"],
)
def test_what_no_offer_can_say_is_refused(gpus, reason):
    with pytest.raises(Refused) as caught:
        facts_from_api(entry("g99.xlarge", *gpus))
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "broken",
    [
        {"InstanceType": "g99.xlarge"},
        {"GpuInfo": 5},
        None,
        entry("g99.xlarge", card("A10G", 1, "lots")),
        entry("g99.xlarge", card("A10G", 1, float("nan"))),
        entry("g99.xlarge", card("A10G", -1, 22888)),
        entry("g99.xlarge", card("A10G", 10**9, 22888)),
        entry("g99.xlarge", card("A10G", 0, 22888, LogicalGpuCount=1, GpuPartitionSize=0)),
        entry("g99.xlarge", {"Name": "A10G", "Count": 1}),
    ],
)
def test_a_broken_entry_is_counted_and_the_rest_stands(broken):
    facts, rejected = read_instance_types([broken, entry("g6.xlarge", card("L4", 1, 22888))])
    assert set(facts) == {"g6.xlarge"}
    assert [refused.reason for refused in rejected] == ["malformed"]
