"""What happens to a call on its way, for every tool alike. The law is in `pipeline.py`; read it first."""
