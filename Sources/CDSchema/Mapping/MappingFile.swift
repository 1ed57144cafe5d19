public import CDMapping
import CDModel

/// The file of a mapping.
public enum MappingFile {
  /// The file's name for a step: `3-4.mapping.yaml`.
  public static func name(from source: Int, to destination: Int) -> String {
    "\(source)-\(destination).mapping.yaml"
  }
}

extension MappingFile {
  /// Confirmed losses to be written into a mapping.
  public struct Confirmations: Hashable, Sendable {
    /// Entities of the source whose objects may be lost.
    public var entities: [String]
    /// Properties of the source that may be lost, each with the destination entity whose rule contains its `drop`.
    public var properties: [Property]

    /// A property, with the entity whose rule confirms its loss.
    public struct Property: Hashable, Sendable {
      /// The entity of the destination.
      public var entity: String
      /// The property of the source.
      public var name: String
    }

    /// Creates the confirmations that a step needs.
    public init(of step: MigrationStep) {
      entities = []
      properties = []
      for change in step.openChanges {
        for remedy in change.remedies {
          switch remedy {
          case .drop(let entity, let name): properties.append(Property(entity: entity, name: name))
          case .dropEntity(let name): entities.append(name)
          default: continue
          }
        }
      }
    }

    /// Whether there is nothing to confirm.
    public var isEmpty: Bool { entities.isEmpty && properties.isEmpty }
  }

  /// Returns a mapping's text with confirmations added. The existing text stays unchanged.
  ///
  /// - Parameters:
  ///   - confirmations: The losses to confirm.
  ///   - text: The mapping; nil if there is no file yet.
  /// - Returns: Nil if the text is not valid YAML, or has a form to which nothing can be added.
  public static func adding(_ confirmations: Confirmations, to text: String?) -> String? {
    var text = text ?? ""
    for property in confirmations.properties {
      guard let next = MappingEditor(text)?.adding(property.name, to: ["entities", property.entity, "drop"])
      else { return nil }
      text = next
    }
    for entity in confirmations.entities {
      guard let next = MappingEditor(text)?.adding(entity, to: ["drop"]) else { return nil }
      text = next
    }
    return text
  }
}
