/// What a diagram of a version shows, whichever format it is written in.
struct Diagram: Hashable, Sendable {
  var title: String
  var boxes: [Box]
  var connections: [Connection]

  /// An entity, an enumeration or a composite.
  struct Box: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
      case entity, abstractEntity, enumeration, composite

      /// What stands beside the name; nil for the usual kind.
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

  /// A line of a box: a property, a case or a field.
  struct Row: Hashable, Sendable {
    var name: String
    /// As the schema language writes it; a case's raw value.
    var type: String
    var isRelationship = false
    /// Whether the value alone is unique among the entity's objects.
    var isUnique = false
    /// Other things worth seeing: `derived`, `ordered`.
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

  /// Where a line meets a box.
  struct End: Hashable, Sendable {
    var box: Int
    /// The row of the relationship that starts here; nil for the box itself.
    var row: Int?
    /// How many objects of this end's entity one object of the other end's has.
    var multiplicity: Multiplicity
  }

  enum Multiplicity: Hashable, Sendable {
    case exactlyOne, zeroOrOne, zeroOrMore, oneOrMore

    var isMany: Bool { self == .zeroOrMore || self == .oneOrMore }
  }
}
