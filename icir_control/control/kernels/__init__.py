"""The compiled half of the controller: structs and plain arrays, in and out."""
