"""Generation of code in components: plan, writers in parallel, review, fixes, integration."""
