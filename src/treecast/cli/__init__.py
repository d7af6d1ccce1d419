"""The treecast command: what a person types, and what he reads."""
