import CDModel

// Which objects became which.
extension CustomWork {
  func destinations(of sources: [ManagedObject], in name: String?) throws -> [ManagedObject] {
    var result: [ManagedObject] = []
    for source in sources {
      for (number, mapping) in plan.mapping.entityMappings.enumerated()
      where name == nil || mapping.name == name {
        if let taker = plan.takers.first(where: { $0.mapping.name == mapping.name }),
          taker.source === source.scope.plan, let object = try destination(of: source, taker)
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

  private func destination(of source: ManagedObject, _ taker: StepPlan.Taker) throws -> ManagedObject? {
    let key = source.key + taker.offset
    if let object = destination.registered(key, root: taker.destination.root) {
      return object.scope.plan === taker.destination && !object.isDeleted && !object.isInaccessible
        ? object : nil
    }
    if taker.isUnrestricted { return destination.makeFault(key, taker.destination) }
    // The object whose turn it is has none but what is in memory.
    if source === current, taker.isCustom,
      taker.mapping.name == plan.mapping.entityMappings[currentNumber].name
    {
      return nil
    }
    let object = try destination.fetchObject(key, taker.destination)
    return object?.scope.plan === taker.destination ? object : nil
  }

  func sources(of objects: [ManagedObject], in name: String?) throws -> [ManagedObject] {
    var result: [ManagedObject] = []
    for object in objects {
      for taker in plan.takers
      where (name == nil || taker.mapping.name == name) && taker.destination === object.scope.plan
        && object.key > taker.offset
      {
        let key = object.key - taker.offset
        let found =
          try source.registered(key, root: taker.source.root) ?? source.fetchObject(key, taker.source)
        if let found, found.scope.plan === taker.source { result.append(found) }
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
      guard let taker = maker.taker, taker.destination === object.scope.plan else { continue }
      let key = object.key - taker.offset
      if key > 0, key < plan.nextSourceKeys[taker.source.root] ?? 0 { return (taker.source.name, key) }
    }
    guard let other = (try? associations.sources(of: object))?.first else { return nil }
    let name = plan.mapping.entityMappings[other.mapping].source
    return (name ?? source.model.entities[other.root].name, other.key)
  }

  /// The key of the row that an object was made of; nil where it was made of none.
  func sourceKey(_ object: ManagedObject) -> ObjectKey? { origin(of: object)?.key }
}
