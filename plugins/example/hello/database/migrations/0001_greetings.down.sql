DROP TABLE example_hello_greeting;
