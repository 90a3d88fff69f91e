"""ModelShape: the sizes of a network that decide its memory and speed, and the widths derived from them."""

from dataclasses import dataclass

from service.estimate.hashed_once import HashedOnce

BILLION = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape(HashedOnce):
    """Sizes of one network as its published configuration states them.

    `params_total_b` decides memory, `params_active_b` (mixture of experts: the part a token passes) decides time.
    `sliding_layers` counts the layers whose attention sees only `sliding_window` tokens. `dense_layers` counts the
    layers of a mixture that are not a mixture. `released` is year-month of the first publication, "" when unknown.
    """

    name: str
    hf_id: str = ""
    family: str = "unknown"
    kind: str = "decoder"  # decoder, encoder, encoder_decoder, diffusion
    released: str = ""
    params_total_b: float
    params_active_b: float
    hidden: int
    layers: int
    encoder_layers: int = 0
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    mlp_matrices: int = 3  # 3: gated, 2: plain
    vocab: int
    tied_embeddings: bool = False
    context: int
    attention: str = "gqa"  # gqa (with multi-head and multi-query as its ends) or mla (latent)
    sliding_window: int = 0
    sliding_layers: int = 0
    experts: int = 0
    experts_per_token: int = 0
    shared_experts: int = 0
    moe_intermediate: int = 0
    dense_layers: int = 0
    kv_lora_rank: int = 0
    q_lora_rank: int = 0
    qk_nope_dim: int = 0
    qk_rope_dim: int = 0
    v_head_dim: int = 0
    learned_pos: int = 0
    attn_bias: bool = False
    norm: str = "rms"  # rms or ln
    norms_per_layer: int = 2
    score_softcap: bool = False  # attention scores are capped, which flash kernels of most libraries cannot do

    __hash__ = HashedOnce.__hash__

    @property
    def params_total(self) -> float:
        """All parameters."""
        return self.params_total_b * BILLION

    @property
    def params_active(self) -> float:
        """Parameters that one token passes."""
        return self.params_active_b * BILLION

    @property
    def all_layers(self) -> int:
        """Blocks of decoder and encoder together."""
        return self.layers + self.encoder_layers

    @property
    def is_moe(self) -> bool:
        """Some layers choose among experts."""
        return self.experts > 0

    @property
    def is_gated(self) -> bool:
        """The MLP has a gate matrix beside up and down."""
        return self.mlp_matrices == 3

    @property
    def embedding_params(self) -> float:
        """Token embedding table, vocabulary x hidden."""
        return float(self.vocab * self.hidden)

    @property
    def head_params(self) -> float:
        """Output projection where it is not the embedding itself; encoders have none."""
        return 0.0 if self.tied_embeddings else self.embedding_params

    @property
    def linear_params(self) -> float:
        """Parameters of the blocks: all but embedding and head. What quantisation shrinks."""
        return max(0.0, self.params_total - self.embedding_params - self.head_params)

    @property
    def matmul_params(self) -> float:
        """Active parameters that take part in a product per token: the lookup is none, the head is counted once."""
        lookup = 0.0 if self.tied_embeddings and self.kind != "encoder" else self.embedding_params
        return max(0.0, self.params_active - lookup)

    @property
    def layer_params(self) -> float:
        """Mean parameters of one block."""
        return self.linear_params / max(1, self.all_layers)

    @property
    def q_width(self) -> int:
        """Width of all query heads."""
        return self.heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Width of the key (or value) heads after grouping."""
        return self.kv_heads * self.head_dim

    @property
    def mlp_width(self) -> int:
        """Hidden width of the MLP that one token passes; of a mixture, its chosen and shared experts together."""
        if not self.is_moe:
            return self.intermediate
        return self.moe_intermediate * (self.experts_per_token + self.shared_experts)
