"""Wire models between the services: frozen values, no behaviour beyond their own validity."""
