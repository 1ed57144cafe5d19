import CDRuntime
import ShadowedNames
import Testing

/// Each reference makes a store that takes an object of each of its entities, gives it back and lets it go.
@Suite struct EveryModelTests {
  static let models: [any GeneratedModel.Type] = [
    CodablesModel.self, CompositesModel.self, ComputedModel.self, DefaultsModel.self,
    DocumentationModel.self, EmptyModel.self, EnumsModel.self, FetchesModel.self, InheritanceModel.self,
    InternalModel.self, LibraryModel.self, MusicModel.self, NamingModel.self, PackageModel.self,
    PerEntityModel.self, ObservableModel.self, RelationshipsModel.self, ScalarsModel.self,
    ShadowingModel.self, SnapshotsModel.self, ToDoModel.self,
    VersionsModel.self, WideModel.self,
  ]

  @Test(arguments: models.indices, StorePlace.allCases)
  func everyEntityIsSavedReadAndDeleted(index: Int, place: StorePlace) throws {
    let type = Self.models[index]
    let graph = EntityGraph(try #require(type.model.currentVersion))
    let store = try TestStore(place, type)
    defer { store.remove() }
    let context = store.container.newContext()
    let samples = try SampleObjects(graph, in: context)
    try context.save()

    let other = try store.reopened().newContext()
    var read: [ManagedObject] = []
    for (name, object) in samples.objects {
      var request = FetchRequest<ManagedObject>(entityName: name)
      request.includesSubentities = false
      let found = try other.fetch(request)
      #expect(found.map(\.objectID) == [object.objectID], "\(name)")
      let copy = try #require(found.first)
      #expect("\(Swift.type(of: copy))" == graph.entity(name)?.swiftName)
      let contents = try SampleObjects.contents(of: copy, name, graph)
      let saved = try SampleObjects.contents(of: object, name, graph)
      for (key, content) in contents {
        #expect(content == saved[key], "\(name).\(key)")
        if let value = samples.given[name]?[key] { #expect(content == .attribute(value), "\(name).\(key)") }
      }
      for relationship in graph.relationships(of: name) where !relationship.isOptional {
        #expect(![.object(nil), .list([]), .set([])].contains(contents[relationship.name]), "\(name)")
      }
      read.append(copy)
    }
    #expect(other.recentErrors.isEmpty && !other.hasChanges)

    for object in read where !object.isDeleted { other.delete(object) }
    try other.save()
    let last = try store.reopened().newContext()
    for entity in graph.version.entities {
      #expect(
        try last.count(for: FetchRequest<ManagedObject>(entityName: entity.name)) == 0, "\(entity.name)")
    }
  }
}
