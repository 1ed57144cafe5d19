/// The name of an attribute of an entity, `.publisher` where a dictionary of them is asked for.
///
/// Generated code declares one for each attribute; a subclass has its parent's too.
///
/// ```swift
/// let books = try Book.objects(matching: [.title: "Walden", .salesRank: 1], in: context)
/// let key: AttributeKey<Book> = .title
/// let titles = try books.map { try $0.value(forKey: key.name) }
/// ```
public struct AttributeKey<Root: ManagedObject>: Hashable, Sendable {
  /// The attribute's name in the model.
  public let name: String

  /// The key of an attribute by its name in the model. A fetch throws where there is none of that name.
  public init(_ name: String) {
    self.name = name
  }
}
