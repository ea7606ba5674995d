// Places an order and inserts its event, in one transaction, with EF Core and Npgsql.
//
//     DATABASE_URL="Host=localhost;Username=app;Database=shop" dotnet run outbox|emit ORDER CUSTOMER CENTS

using System.ComponentModel.DataAnnotations.Schema;
using System.Text.Json;
using Microsoft.EntityFrameworkCore;

var order = new Order { Id = args[1], Customer = args[2], Cents = long.Parse(args[3]) };
await using var shop = new Shop();
switch (args[0])
{
    case "outbox":
        await shop.Place(order);
        break;
    case "emit":
        await shop.PlaceByMessage(order);
        break;
    default:
        throw new ArgumentException($"outbox or emit, not {args[0]}");
}

[Table("orders")]
public class Order
{
    [Column("id")] public required string Id { get; init; }
    [Column("customer")] public required string Customer { get; init; }
    [Column("cents")] public required long Cents { get; init; }

    /// <summary>The payload: a shape of its own, not the row.</summary>
    public string Placed() => JsonSerializer.Serialize(new { order = Id, customer = Customer, cents = Cents });
}

[Table("outbox")]
public class OutboxEvent
{
    [Column("id")] public Guid Id { get; init; } = Guid.NewGuid();
    [Column("aggregatetype")] public required string AggregateType { get; init; }
    [Column("aggregateid")] public required string AggregateId { get; init; }
    [Column("type")] public required string Type { get; init; }
    [Column("payload", TypeName = "jsonb")] public required string Payload { get; init; }
}

public class Shop : DbContext
{
    public DbSet<Order> Orders => Set<Order>();
    public DbSet<OutboxEvent> Outbox => Set<OutboxEvent>();

    protected override void OnConfiguring(DbContextOptionsBuilder options) =>
        options.UseNpgsql(Environment.GetEnvironmentVariable("DATABASE_URL"));

    /// <summary>The order, and a row in the outbox: one SaveChanges is one transaction.</summary>
    public async Task Place(Order order)
    {
        Orders.Add(order);
        Outbox.Add(new OutboxEvent
        {
            AggregateType = "order", AggregateId = order.Id, Type = "OrderPlaced", Payload = order.Placed()
        });
        await SaveChangesAsync();
    }

    /// <summary>The order, and an event that exists only in the WAL.</summary>
    public async Task PlaceByMessage(Order order)
    {
        await using var transaction = await Database.BeginTransactionAsync();
        Orders.Add(order);
        await SaveChangesAsync();
        await Database.ExecuteSqlAsync(
            $"SELECT walpost.emit('order', {order.Id}, 'OrderPlaced', {order.Placed()}::jsonb)");
        await transaction.CommitAsync();
    }
}
