/// The key of an object within its root entity's table; 0 stands for no object.
@_spi(Generated) public typealias ObjectKey = Int64
