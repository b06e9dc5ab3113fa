"""The results of the laboratory: findings as tables, plots and sentences, on the screen and in a folder."""
