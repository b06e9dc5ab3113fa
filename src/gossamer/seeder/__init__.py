"""The seeder: it turns the links of a whole tick into pages, if they are new, within the limits and allowed."""
