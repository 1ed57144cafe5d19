/// A composite of the schema: a struct that an entity has as one attribute. Generated code declares the conforming
/// types.
///
/// ```swift
/// author.address = Address(street: "1 Main Street", city: "Concord", zip: "01742")
/// author.address?.note = "beside the pond"
/// let neighbours = try Author.fetch(where: \.address.city == "Concord", in: context)
/// ```
public protocol CompositeAttribute: Hashable, Sendable {
  /// Reads the fields from consecutive columns, starting at the given one.
  @_spi(Generated) init(_row: RowReader, _ column: Int)
  /// Writes the fields in the order of their declaration.
  @_spi(Generated) func _encode(_ writer: RowWriter)
  /// A value whose mandatory fields are empty and whose optional fields are nil.
  @_spi(Generated) static var _empty: Self { get }
  /// The number of fields.
  @_spi(Generated) static var _columnCount: Int { get }
  /// The key paths of the fields, if the model asks for key paths; otherwise empty.
  @_spi(Generated) static var _keyPaths: KeyPathTable { get }
}

extension CompositeAttribute {
  @_spi(Generated) public static var _keyPaths: KeyPathTable { .empty }
}
