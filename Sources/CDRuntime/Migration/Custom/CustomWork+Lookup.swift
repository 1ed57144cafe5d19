import CDModel

// Which objects became which.
extension CustomWork {
  func destinations(of sources: [ManagedObject], in name: String?) throws -> [ManagedObject] {
    var result: [ManagedObject] = []
    for source in sources {
      for (number, mapping) in plan.mapping.entityMappings.enumerated()
      where name == nil || mapping.name == name {
        if let sourceMapping = plan.sourceMappings.first(where: { $0.mapping.name == mapping.name }),
          sourceMapping.source === source.scope.plan, let object = try destination(of: source, sourceMapping)
        {
          result.append(object)
        }
        guard mapping.kind == .custom else { continue }
        for further in try associations.destinations(of: source, in: number) {
          let entity = destination.model.entities[further.entity]
          let object =
            try destination.registered(further.key, root: entity.root)
            ?? destination.fetchObject(further.key, entity)
          if let object, !object.isDeleted { result.append(object) }
        }
      }
    }
    return result
  }

  private func destination(of source: ManagedObject, _ sourceMapping: StepPlan.SourceMapping) throws
    -> ManagedObject?
  {
    let key = source.key + sourceMapping.offset
    if let object = destination.registered(key, root: sourceMapping.destination.root) {
      return object.scope.plan === sourceMapping.destination && !object.isDeleted && !object.isInaccessible
        ? object : nil
    }
    if sourceMapping.isUnrestricted { return destination.makeFault(key, sourceMapping.destination) }
    // The object whose turn it is has none but what is in memory.
    if source === current, sourceMapping.isCustom,
      sourceMapping.mapping.name == plan.mapping.entityMappings[currentNumber].name
    {
      return nil
    }
    let object = try destination.fetchObject(key, sourceMapping.destination)
    return object?.scope.plan === sourceMapping.destination ? object : nil
  }

  func sources(of objects: [ManagedObject], in name: String?) throws -> [ManagedObject] {
    var result: [ManagedObject] = []
    for object in objects {
      for sourceMapping in plan.sourceMappings
      where (name == nil || sourceMapping.mapping.name == name)
        && sourceMapping.destination === object.scope.plan
        && object.key > sourceMapping.offset
      {
        let key = object.key - sourceMapping.offset
        let found =
          try source.registered(key, root: sourceMapping.source.root)
          ?? source.fetchObject(key, sourceMapping.source)
        if let found, found.scope.plan === sourceMapping.source { result.append(found) }
      }
      for other in try associations.sources(of: object)
      where name == nil || plan.mapping.entityMappings[other.mapping].name == name {
        let found =
          try source.registered(other.key, root: other.root)
          ?? source.fetchObject(other.key, source.model.entities[other.root])
        if let found { result.append(found) }
      }
    }
    return result
  }

  /// The row that an object was made of, and its entity; nil where it was made of none.
  func origin(of object: ManagedObject) -> (entity: String, key: ObjectKey)? {
    for maker in makers.values {
      guard let sourceMapping = maker.sourceMapping, sourceMapping.destination === object.scope.plan else {
        continue
      }
      let key = object.key - sourceMapping.offset
      if key > 0, key < plan.nextSourceKeys[sourceMapping.source.root] ?? 0 {
        return (sourceMapping.source.name, key)
      }
    }
    guard let other = (try? associations.sources(of: object))?.first else { return nil }
    let name = plan.mapping.entityMappings[other.mapping].source
    return (name ?? source.model.entities[other.root].name, other.key)
  }

  /// The key of the row that an object was made of; nil where it was made of none.
  func sourceKey(_ object: ManagedObject) -> ObjectKey? { origin(of: object)?.key }
}
