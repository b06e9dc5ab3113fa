"""Sites that belong to the operator: the key, the proofs made with it, and how a site shows its proof."""
