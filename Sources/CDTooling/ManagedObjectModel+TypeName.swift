package import CDModel

extension ManagedObjectModel {
  /// The name of the type that stands for a model in generated Swift: `NotesModel` for the models `Notes` and `notes`.
  ///
  /// The validator, the generator and the template of a new model all need this name.
  package static func typeName(ofModel name: String) -> String {
    "\(name.prefix(1).uppercased())\(name.dropFirst())Model"
  }
}
