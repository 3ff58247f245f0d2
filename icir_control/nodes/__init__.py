"""ROS 2 nodes: thin shells of parameters and messages around the controller and the plant."""
