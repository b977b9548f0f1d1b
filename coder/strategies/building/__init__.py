"""Generation of code in components: plan, generators in parallel, review, fixes, integration."""
