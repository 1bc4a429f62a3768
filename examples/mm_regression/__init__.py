"""Yohai, Ann. Stat. 15, 1987: MM-estimates."""
