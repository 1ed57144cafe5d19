import Observation

/// A property of an observable class, as observers know it: its key path.
protocol ObservedProperty {
  /// - Parameter object: One of the path's class, or of one below it.
  func access(_ object: ManagedObject, _ registrar: ObservationRegistrar)
  func willSet(_ object: ManagedObject, _ registrar: ObservationRegistrar)
  func didSet(_ object: ManagedObject, _ registrar: ObservationRegistrar)
}

extension KeyPath: ObservedProperty where Root: ObservableEntityClass {
  // Sound because an object's class is that of its plan or one below it: ManagedObject's initialiser sees to it.
  private func subject(_ object: ManagedObject) -> Root { unsafeDowncast(object, to: Root.self) }

  func access(_ object: ManagedObject, _ registrar: ObservationRegistrar) {
    registrar.access(subject(object), keyPath: self)
  }

  func willSet(_ object: ManagedObject, _ registrar: ObservationRegistrar) {
    registrar.willSet(subject(object), keyPath: self)
  }

  func didSet(_ object: ManagedObject, _ registrar: ObservationRegistrar) {
    registrar.didSet(subject(object), keyPath: self)
  }
}

extension ObjectScope {
  /// The properties by slot; none where the class is not observable.
  func makeObservedProperties() -> [any ObservedProperty] {
    guard plan.isObservable, let objectType else { return [] }
    let properties = objectType._keyPaths.paths.compactMap { $0 as? any ObservedProperty }
    return properties.count == plan.slots.count ? properties : []
  }
}
