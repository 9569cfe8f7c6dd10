"""Reports without a page: terminal, Markdown and JUnit."""
