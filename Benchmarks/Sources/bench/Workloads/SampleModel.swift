import CDModel
import Foundation

/// A model of any size. Each entity has 12 attributes and 2 relationships, as the goals require.
enum SampleModel {
  static func make(entities count: Int) -> ManagedObjectModel {
    let entities = (0..<count).map { place in
      EntityDescription(
        name: "Entity\(place)", attributes: attributes,
        relationships: [
          RelationshipDescription(name: "one", destination: "Entity\((place + 1) % count)", inverse: "many"),
          RelationshipDescription(
            name: "many", destination: "Entity\((place + count - 1) % count)", isToMany: true,
            inverse: "one"),
        ],
        uniquenessConstraints: [["identifier"]])
    }
    let identity = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
    return ManagedObjectModel(
      name: "Sample", id: identity, versions: [ModelVersion(number: 1, entities: entities)],
      currentVersionNumber: 1)
  }

  private static let attributes: [AttributeDescription] = [
    AttributeDescription(name: "identifier", type: .uuid, defaultValue: .uuid),
    AttributeDescription(name: "title", type: .string),
    AttributeDescription(name: "notes", type: .string, isOptional: true),
    AttributeDescription(name: "priority", type: .int64, defaultValue: .value(.int(1))),
    AttributeDescription(name: "rank", type: .int32, isOptional: true),
    AttributeDescription(name: "weight", type: .double, defaultValue: .value(.double(0.5))),
    AttributeDescription(name: "dueDate", type: .date),
    AttributeDescription(name: "closedDate", type: .date, isOptional: true),
    AttributeDescription(name: "isDone", type: .bool, defaultValue: .value(.bool(false))),
    AttributeDescription(name: "isHidden", type: .bool, defaultValue: .value(.bool(false))),
    AttributeDescription(name: "price", type: .decimal, isOptional: true),
    AttributeDescription(name: "picture", type: .data, isOptional: true),
  ]
}
