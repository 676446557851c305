"""The index of a table: what it holds, by which step it goes, and which rows come next."""
