double();
