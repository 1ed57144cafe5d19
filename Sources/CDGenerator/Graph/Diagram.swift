/// The contents of a version's diagram, independent of the output format.
package struct Diagram: Hashable, Sendable {
  package var title: String
  package var boxes: [Box]
  package var connections: [Connection]

  /// An entity, an enumeration or a composite.
  package struct Box: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
      case entity, abstractEntity, enumeration, composite

      /// The label beside the name; nil for a plain entity.
      package var label: String? {
        switch self {
        case .entity: nil
        case .abstractEntity: "abstract"
        case .enumeration: "enum"
        case .composite: "composite"
        }
      }
    }

    package var name: String
    package var kind: Kind
    package var rows: [Row]
  }

  /// A row of a box: a property, a case or a field.
  package struct Row: Hashable, Sendable {
    package var name: String
    /// The type in the schema language. For a case, the raw value.
    package var type: String
    package var isRelationship = false
    /// Whether the value alone is unique among the entity's objects.
    package var isUnique = false
    /// Additional information, such as `derived` or `ordered`.
    package var notes: [String] = []
  }

  /// A line between two boxes.
  package struct Connection: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
      /// From a parent to its subentity.
      case inheritance
      /// A relationship and its inverse.
      case relationship
      /// A relationship without an inverse.
      case oneSided
    }

    package var kind: Kind
    package var from: End
    package var to: End
  }

  /// The end of a line at a box.
  package struct End: Hashable, Sendable {
    package var box: Int
    /// The row of the relationship that starts at this end; nil for the box itself.
    package var row: Int?
    /// How many objects of this end's entity belong to one object of the other end's entity.
    package var multiplicity: Multiplicity
  }

  package enum Multiplicity: Hashable, Sendable {
    case exactlyOne, zeroOrOne, zeroOrMore, oneOrMore

    package var isMany: Bool { self == .zeroOrMore || self == .oneOrMore }
  }
}
