/// Assigns each entity to the store that holds its objects, by the configurations of the stores.
struct StoreAssignment: Sendable {
  /// The index of the store, by the name of a hierarchy's root.
  private(set) var storeIndices: [String: Int] = [:]

  /// Assigns the hierarchies of some roots to the first store, and no others.
  init(roots: Set<String>) {
    for name in roots { storeIndices[name] = 0 }
  }

  /// - Parameter configurations: The configuration of each store; nil for a store of all entities that no other
  ///   configuration names.
  /// - Throws: ``ModelError`` if a configuration does not exist, or if two stores would hold the same entity.
  @_optimize(none)
  init(_ graph: EntityGraph, configurations: [String?]) throws(ModelError) {
    for (storeIndex, name) in configurations.enumerated() {
      guard let name else { continue }
      guard let configuration = graph.version.configurations.first(where: { $0.name == name }) else {
        throw .unknownConfiguration(name)
      }
      for entity in configuration.entities {
        guard let root = graph.root(of: entity)?.name else { continue }
        if let other = storeIndices[root], other != storeIndex { throw .entityInTwoStores(entity) }
        storeIndices[root] = storeIndex
      }
    }
    let rests = configurations.indices.filter { configurations[$0] == nil }
    for entity in graph.version.entities {
      guard let root = graph.root(of: entity.name)?.name, storeIndices[root].map(rests.contains) ?? true,
        let storeIndex = rests.first
      else { continue }
      if rests.count > 1 { throw .entityInTwoStores(entity.name) }
      storeIndices[root] = storeIndex
    }
  }
}
