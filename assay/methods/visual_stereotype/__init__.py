"""Visual stereotype: how often an image classifier gives pictures the stereotyped one of two labels (Jiang et al.)."""
