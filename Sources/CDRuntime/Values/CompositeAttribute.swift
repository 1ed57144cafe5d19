/// A composite of the schema: a struct that an entity has as one attribute. Generated code declares them.
///
/// An optional attribute whose composite has no field but nil reads back as nil once its row is read again: a store
/// keeps the fields, and nothing beside them. Where the difference counts, give the composite a mandatory field.
public protocol CompositeAttribute: Hashable, Sendable {
  /// Reads the fields from a column on.
  @_spi(Generated) init(_row: RowReader, _ column: Int)
  /// Writes the fields in the order of their declaration.
  @_spi(Generated) func _encode(_ writer: RowWriter)
  /// Mandatory fields empty, the others nil.
  @_spi(Generated) static var _empty: Self { get }
  /// The count of fields.
  @_spi(Generated) static var _columnCount: Int { get }
}
