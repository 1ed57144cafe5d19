/// An enumeration of the schema, declared by generated code.
///
/// If a store has a raw value that no case has, the attribute reads as its default, or as the first case if it has no
/// default. The store keeps the raw value until it is overwritten, and ``ManagedObjectContext/errors`` reports it.
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
