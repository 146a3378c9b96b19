from .algorithm_4 import (
    BayesianInteractiveIRL as BayesianInteractiveIRL,
)
from .chains import (
    Chains as Chains,
)
from .chains import (
    Diagnostics as Diagnostics,
)
from .evidence import (
    Evidence as Evidence,
)
from .families import (
    BoltzmannFamily as BoltzmannFamily,
)
from .families import (
    EpsilonGreedyFamily as EpsilonGreedyFamily,
)
from .families import (
    FollowerFamily as FollowerFamily,
)
from .posterior import (
    Posterior as Posterior,
)
from .priors import (
    DirichletPrior as DirichletPrior,
)
from .priors import (
    GammaPrior as GammaPrior,
)
from .priors import (
    Known as Known,
)
from .priors import (
    UniformPrior as UniformPrior,
)
from .priors import (
    exponential_prior as exponential_prior,
)
from .proposals import (
    DirichletProposal as DirichletProposal,
)
from .proposals import (
    GammaProposal as GammaProposal,
)
from .proposals import (
    Hamiltonian as Hamiltonian,
)
from .proposals import (
    ReflectedStep as ReflectedStep,
)
from .proposals import (
    SimplexWalk as SimplexWalk,
)
from .sampler import (
    sample as sample,
)
from .sampler import (
    sampling as sampling,
)

__all__ = [
    "BayesianInteractiveIRL",
    "BoltzmannFamily",
    "Chains",
    "Diagnostics",
    "DirichletPrior",
    "DirichletProposal",
    "EpsilonGreedyFamily",
    "Evidence",
    "FollowerFamily",
    "GammaPrior",
    "GammaProposal",
    "Hamiltonian",
    "Known",
    "Posterior",
    "ReflectedStep",
    "SimplexWalk",
    "UniformPrior",
    "exponential_prior",
    "sample",
    "sampling",
]
