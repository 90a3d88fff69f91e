"""Tables, migrations and queries: imported by flows only. Nothing here is imported eagerly, so that cold reads stay light."""
