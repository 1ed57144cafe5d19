import Observation

/// A property of an observable class, as observers know it: by its key path.
protocol ObservedProperty {
  /// - Parameter object: One of the class, or of one below it.
  func access(_ object: ManagedObject, _ registrar: ObservationRegistrar)
  func willSet(_ object: ManagedObject, _ registrar: ObservationRegistrar)
  func didSet(_ object: ManagedObject, _ registrar: ObservationRegistrar)
}

struct ObservedKeyPath<Object: ObservableEntityClass, Value>: ObservedProperty {
  let path: KeyPath<Object, Value>

  // Sound because an object's class is that of its plan or one below it: ManagedObject's initialiser sees to it.
  private func subject(_ object: ManagedObject) -> Object { unsafeDowncast(object, to: Object.self) }

  func access(_ object: ManagedObject, _ registrar: ObservationRegistrar) {
    registrar.access(subject(object), keyPath: path)
  }

  func willSet(_ object: ManagedObject, _ registrar: ObservationRegistrar) {
    registrar.willSet(subject(object), keyPath: path)
  }

  func didSet(_ object: ManagedObject, _ registrar: ObservationRegistrar) {
    registrar.didSet(subject(object), keyPath: path)
  }
}

extension EntityPlan {
  /// The properties by slot; none where the class is not observable.
  func observedProperties() -> [any ObservedProperty] {
    guard let type = objectType as? any ObservableEntityClass.Type else { return [] }
    let properties = Self.properties(of: type)
    return properties.count == slots.count ? properties : []
  }

  private static func properties<Object: ObservableEntityClass>(
    of type: Object.Type
  ) -> [any ObservedProperty] {
    type._keyPaths.paths.compactMap { path in
      func property<Value>(_: Value.Type) -> (any ObservedProperty)? {
        (path as? KeyPath<Object, Value>).map { ObservedKeyPath(path: $0) }
      }
      return property(Swift.type(of: path).valueType)
    }
  }
}
