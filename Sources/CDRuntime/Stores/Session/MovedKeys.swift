import CDModel

/// A change of keys that a migration made because rows of two tables came into one table. The store keeps a list of
/// these changes, so that identifiers from before the migration still lead to their objects.
package struct MovedKeys: Hashable, Sendable {
  /// The entity, by its name in the version of the store.
  package var entity: String
  /// The exclusive upper limit of the old keys. All new keys are greater.
  package var below: Int64
  /// The number that the migration added to each of these keys.
  package var offset: Int64

  /// The key in `_cdgen_metadata`.
  package static let metadataKey = "movedKeys"

  /// Reads a list from the text that ``text(_:)`` returned; empty for any other text. Leaves out changes that no migration
  /// makes: sums of their numbers could overflow.
  package static func list(_ text: String) -> [MovedKeys] {
    guard case .array(let elements)? = try? JSONValue(parsing: text) else { return [] }
    return elements.compactMap { element in
      guard case .object(let members) = element else { return nil }
      var entity: String?
      var numbers: [String: Int64] = [:]
      for member in members {
        guard case .string(let text) = member.value else { continue }
        if member.key == "entity" { entity = text } else { numbers[member.key] = Int64(text) }
      }
      guard let entity, let below = numbers["below"], let offset = numbers["offset"],
        1...KeyRanges.largestKey ~= below, 1...KeyRanges.largestKey ~= offset
      else { return nil }
      return MovedKeys(entity: entity, below: below, offset: offset)
    }
  }

  /// Returns the text of a list, which the metadata contain.
  package static func text(_ list: [MovedKeys]) -> String {
    JSONValue.array(
      list.map {
        .object([
          JSONValue.Member("entity", .string($0.entity)), JSONValue.Member("below", .string("\($0.below)")),
          JSONValue.Member("offset", .string("\($0.offset)")),
        ])
      }
    ).canonicalText
  }
}
