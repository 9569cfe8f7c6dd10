-- Records that members were given, with the columns of `deliveries`.

SELECT * FROM {deliveries}
