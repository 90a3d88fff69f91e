"""What is asked and what is answered: pure types, checked where they are made."""
