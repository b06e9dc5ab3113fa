"""Pages that change, and a crawler that visits them again within a budget: how fresh each policy keeps its copies."""
