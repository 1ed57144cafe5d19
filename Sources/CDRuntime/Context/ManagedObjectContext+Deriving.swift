extension ManagedObjectContext {
  /// Computes the derived attributes of all changed objects.
  func deriveAttributes() throws {}
}
