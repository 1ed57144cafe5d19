public import CDMapping
import CDModel

extension MappingFile {
  /// Losses that are meant, to be written into a mapping.
  public struct Confirmations: Hashable, Sendable {
    /// Entities of the source whose objects are lost.
    public var entities: [String]
    /// Properties of the source that are lost, with the entity of the destination that their `drop` stands
    /// under.
    public var properties: [Property]

    /// A property, and where its loss is confirmed.
    public struct Property: Hashable, Sendable {
      /// The entity of the destination.
      public var entity: String
      /// The property of the source.
      public var name: String
    }

    /// Those that a step wants.
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

  /// A mapping's text with confirmations in it. All that is there stays as it was written.
  ///
  /// - Parameters:
  ///   - confirmations: What is to be confirmed.
  ///   - text: The mapping; nil where there is no file yet.
  /// - Returns: Nil where the text is no valid YAML, or is written in a way that nothing can be added to.
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
