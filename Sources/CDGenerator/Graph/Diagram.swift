/// The contents of a version's diagram, independent of the output format.
struct Diagram: Hashable, Sendable {
  var title: String
  var boxes: [Box]
  var connections: [Connection]

  /// An entity, an enumeration or a composite.
  struct Box: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
      case entity, abstractEntity, enumeration, composite

      /// The label beside the name; nil for a plain entity.
      var label: String? {
        switch self {
        case .entity: nil
        case .abstractEntity: "abstract"
        case .enumeration: "enum"
        case .composite: "composite"
        }
      }
    }

    var name: String
    var kind: Kind
    var rows: [Row]
  }

  /// A row of a box: a property, a case or a field.
  struct Row: Hashable, Sendable {
    var name: String
    /// The type in the schema language. For a case, the raw value.
    var type: String
    var isRelationship = false
    /// Whether the value alone is unique among the entity's objects.
    var isUnique = false
    /// Additional information, such as `derived` or `ordered`.
    var notes: [String] = []
  }

  /// A line between two boxes.
  struct Connection: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
      /// From a parent to its subentity.
      case inheritance
      /// A relationship and its inverse.
      case relationship
      /// A relationship without an inverse.
      case oneSided
    }

    var kind: Kind
    var from: End
    var to: End
  }

  /// The end of a line at a box.
  struct End: Hashable, Sendable {
    var box: Int
    /// The row of the relationship that starts at this end; nil for the box itself.
    var row: Int?
    /// How many objects of this end's entity belong to one object of the other end's entity.
    var multiplicity: Multiplicity
  }

  enum Multiplicity: Hashable, Sendable {
    case exactlyOne, zeroOrOne, zeroOrMore, oneOrMore

    var isMany: Bool { self == .zeroOrMore || self == .oneOrMore }
  }
}
