import CDRuntime
import Testing

/// Each reference makes a store that takes an object of each of its entities and gives it back.
@Suite struct EveryModelTests {
  static let models: [any GeneratedModel.Type] = [
    CodablesModel.self, CompositesModel.self, ComputedModel.self, DefaultsModel.self,
    DocumentationModel.self, EmptyModel.self, EnumsModel.self, FetchesModel.self, InheritanceModel.self,
    LibraryModel.self, MusicModel.self, NamingModel.self, PerEntityModel.self, RelationshipsModel.self,
    ScalarsModel.self, ToDoModel.self, VersionsModel.self, WideModel.self,
  ]

  @Test(arguments: models.indices)
  func everyEntityHasObjectsOfItsClass(place: Int) throws {
    let type = Self.models[place]
    let version = try #require(type.model.currentVersion)
    let container = try PersistentContainer(inMemoryFor: type)
    let context = container.newContext()
    for entity in version.entities where !entity.isAbstract {
      let object = try context.insert(entityNamed: entity.name)
      #expect("\(Swift.type(of: object))" == entity.swiftName)
      for attribute in entity.attributes { _ = try object.value(forKey: attribute.name) }
      for relationship in entity.relationships where relationship.isToMany {
        #expect(try object.value(forKey: relationship.name) == .objects([]))
      }
      var request = FetchRequest<ManagedObject>(entityName: entity.name)
      request.includesSubentities = false
      #expect(try context.fetch(request) == [object])
      context.delete(object)
    }
    #expect(!context.hasChanges)
  }
}
