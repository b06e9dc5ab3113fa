"""What the laboratory hands over: findings as tables, plots and sentences, on the screen and in a folder."""
