"""The form factor of a card, told by the machine type it is sold in where the card's market name leaves it open."""

import re

# provider -> (pattern of the machine type, form). From the providers' instance tables, read 2026-09.
_TYPES = {
    "aws": [(r"p3(dn)?\.", "SXM2"), (r"p4de?\.", "SXM4"), (r"p5(en?)?\.", "SXM5"), (r"p6-b[23]00\.", "SXM6")],
    "azure": [
        (r"(standard_)?nc\d+r?s_v3$", "PCIe"),
        (r"(standard_)?nd40rs_v2$", "SXM2"),
        (r"(standard_)?nc\d+ads_a100_v4$", "PCIe"),
        (r"(standard_)?nd\d+a(m?s)r(_a100)?_v4$", "SXM4"),
        (r"(standard_)?nd\d+isr_h[12]00_v5$", "SXM5"),
        (r"(standard_)?nc+\d+adi?s_h100_v5$", "NVL"),
    ],
    "gcp": [(r"a2-", "SXM4"), (r"a3-", "SXM5"), (r"a4-", "SXM6")],
    "oci": [(r"bm\.gpu3\.8$", "SXM2"), (r"bm\.gpu(4|\.a100-v2)\.8$", "SXM4"), (r"bm\.gpu\.h[12]00\.8$", "SXM5")],
    "lambda": [(r"gpu_8x_a100(_80gb)?(_sxm4)?$", "SXM4"), (r"gpu_[124]x_a100$", "PCIe")],
}  # fmt: skip
_TYPES |= {"sagemaker": _TYPES["aws"], "vertex": _TYPES["gcp"], "azureml": _TYPES["azure"]}
_WORD = re.compile(r"(?<![a-z0-9])(pcie|sxm[2-6]?|nvl|nvlink)(?![a-z0-9])")


def form_of_instance(provider: str, instance_type: str | None) -> str | None:
    """The form the machine type stands for or names itself; None where it says nothing."""
    name = (instance_type or "").strip().casefold()
    if provider == "sagemaker":
        name = name.removeprefix("ml.")
    for pattern, form in _TYPES.get(provider, ()):
        if re.match(pattern, name):
            return form
    word = _WORD.search(name.replace("_", " "))
    return word.group(1) if word else None
