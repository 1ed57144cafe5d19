/// An enumeration of the schema. Generated code declares them.
///
/// A raw value in a store that no case has reads as the attribute's default or else as the first case; the
/// store keeps it until it is overwritten, and ``ManagedObjectContext/errors`` reports it.
///
/// ```swift
/// book.language = .german
/// let books = try Book.fetch(where: \.language == .german || \.language == .french, in: context)
/// let names = Language.allCases.map(\.rawValue)
/// ```
public protocol EnumAttribute: RawRepresentable, CaseIterable, Codable, Hashable, AttributeValueConvertible
where RawValue: AttributeValueConvertible {}

extension EnumAttribute {
  public var attributeValue: AttributeValue { rawValue.attributeValue }
}
