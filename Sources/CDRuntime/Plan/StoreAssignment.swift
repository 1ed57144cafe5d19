/// Which of several stores holds the objects of which entities, by the configurations that the stores name.
struct StoreAssignment: Sendable {
  /// The place of the store, by the name of a hierarchy's root.
  private(set) var places: [String: Int] = [:]

  /// All entities in one store.
  static func single(_ graph: EntityGraph) -> StoreAssignment {
    var result = StoreAssignment()
    for entity in graph.version.entities where graph.root(of: entity.name)?.name == entity.name {
      result.places[entity.name] = 0
    }
    return result
  }

  private init() {}

  /// The hierarchies of some roots in the first store, and no others anywhere.
  init(roots: Set<String>) {
    for name in roots { places[name] = 0 }
  }

  /// - Parameter configurations: That of each store; nil for what no other store's names.
  /// - Throws: ``ModelError`` where a configuration is not there, or where two stores would hold one entity.
  init(_ graph: EntityGraph, configurations: [String?]) throws(ModelError) {
    for (place, name) in configurations.enumerated() {
      guard let name else { continue }
      guard let configuration = graph.version.configurations.first(where: { $0.name == name }) else {
        throw .unknownConfiguration(name)
      }
      for entity in configuration.entities {
        guard let root = graph.root(of: entity)?.name else { continue }
        if let other = places[root], other != place { throw .entityInTwoStores(entity) }
        places[root] = place
      }
    }
    let rests = configurations.indices.filter { configurations[$0] == nil }
    for entity in graph.version.entities {
      guard let root = graph.root(of: entity.name)?.name, places[root].map(rests.contains) ?? true,
        let place = rests.first
      else { continue }
      if rests.count > 1 { throw .entityInTwoStores(entity.name) }
      places[root] = place
    }
  }
}
