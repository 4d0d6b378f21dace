"""Visual stereotype: which of two labels an image classifier gives to pictures (Jiang et al.)."""
